A small matrix                                                          SMALL   
             3             1             1             1             0
IUA                        3             3             4             0
(16I5)          (16I5)          (4I20)              
    1    3    4    5
    1    2    2    3
                   1                   2                   3    9007199254740993
