<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" sourcelanguage="en">
<context>
    <name>MainWindow</name>
    <message>
        <location filename="main.cpp" line="12"/>
        <source>&amp;Open the file</source>
        <comment>menu</comment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>E&amp;xit &quot;now&quot;</source>
        <translation type="unfinished"/>
    </message>
    <message>
        <source>Saved already</source>
        <translation>Schon gespeichert</translation>
    </message>
    <message>
        <source>Guessed before</source>
        <translation type="unfinished">Geraten</translation>
    </message>
    <message>
        <source>No longer here</source>
        <translation type="vanished">Weg</translation>
    </message>
    <message>
        <source>Old one</source>
        <translation type="obsolete"></translation>
    </message>
    <message numerus="yes">
        <location line="+5"/>
        <source>%n file(s) in %1</source>
        <translation type="unfinished">
            <numerusform></numerusform>
            <numerusform></numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n folder(s)</source>
        <translation>
            <numerusform>%n Ordner</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%Ln new</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>First line, with R&amp;D &lt;b&gt;bold&lt;/b&gt; text.
Second line's end%L2 and a bell<byte value="x7"/></source>
    </message>
    <message>
        <source>short text</source>
        <translation type="unfinished" variants="yes"><lengthvariant></lengthvariant><lengthvariant></lengthvariant></translation>
    </message>
    <message id="id-42">
        <source>By its name</source>
        <extracomment>a hint</extracomment>
        <translation type="unfinished"></translation>
    </message>
</context>
</TS>
